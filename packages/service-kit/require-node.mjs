const least = 24;

/**
 * Ends the process with one line if this Node cannot run TypeScript. `npm ci` also works with older ones, because it
 * installs the Node that npm scripts and npx use.
 */
export function requireNode() {
  if (Number.parseInt(process.versions.node, 10) >= least) return;
  process.stderr.write(
    `This needs Node ${least} or newer, and ${process.execPath} is ${process.version}. Run it with "npm run" or "npx node": they use the Node that npm ci installed.\n`,
  );
  process.exit(1);
}
