// Stands in for each package that only unused parts of Express Gateway need (`overrides` in package.json).

function fail() {
  throw new Error(
    'This package is left out of the installation, because only unused parts of Express Gateway need it: see docs/adr/0005-edge.md.',
  );
}

// Express Gateway loads some of the packages with parts that are used. So loading one works, and any use of it fails.
module.exports = new Proxy(fail, { apply: fail, construct: fail, get: fail });
