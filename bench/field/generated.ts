const open = (name: string): string => `<!-- generated: ${name} -->`;
const CLOSE = "<!-- end -->";

/** The document with the text between the marks of that name replaced. Throws when it has no such marks. */
export function replaceGenerated(document: string, name: string, text: string): string {
  const start = document.indexOf(open(name));
  const end = document.indexOf(CLOSE, start);
  if (start < 0 || end < 0) throw new Error(`no '${open(name)}' … '${CLOSE}' in the document`);
  return `${document.slice(0, start + open(name).length)}\n${text}\n${document.slice(end)}`;
}
