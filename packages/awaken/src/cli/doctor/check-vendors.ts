import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { VENDORS, type Vendor, vendorFacts } from "../../vendor-from-env.ts";
import { type Finding, ok, warn } from "./finding.ts";

/** Seen from the project, or from this package: both may import it. */
function isInstalled(name: string, root: string): boolean {
  for (let folder = root; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "node_modules", name, "package.json"))) return true;
    if (dirname(folder) === folder) break;
  }
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

function checkVendor(vendor: Vendor, root: string): Finding {
  const { keyVariable, npmPackage } = vendorFacts(vendor);
  if (isInstalled(npmPackage, root)) return ok("keys", `${keyVariable} is set, and ${npmPackage} is installed`);
  return warn("keys", `${keyVariable} is set, and ${npmPackage} is not installed`, `npm install ${npmPackage}`);
}

/** Which vendors' keys there are, by the names of their variables, and whether their packages are. */
export function checkVendors(env: Readonly<Record<string, string | undefined>>, root: string): readonly Finding[] {
  const present = VENDORS.filter((vendor) => (env[vendorFacts(vendor).keyVariable]?.trim() ?? "") !== "");
  if (present.length > 0) return present.map((vendor) => checkVendor(vendor, root));
  const names = VENDORS.map((vendor) => vendorFacts(vendor).keyVariable);
  return [warn("keys", "there is no key of a model vendor", `set one of ${names.join(", ")}, unless your models need none`)];
}
