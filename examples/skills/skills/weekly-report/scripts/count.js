const sum = process.argv.slice(2).reduce((total, count) => total + Number(count), 0);
console.log(`${sum} changes`);
