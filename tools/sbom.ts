/**
 * `npm run sbom [folder]`: a bill of materials for each service and for the hub in one process, in CycloneDX 1.5, as
 * `<folder>/<service>.cdx.json` (default `reports/sbom`): the packages of its image, from the lockfile and the
 * Dockerfile. (`npm sbom --omit=dev` leaves out packages that another workspace has as a development dependency.)
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Lockfile, packagesOf } from './lockfile.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The workspaces whose packages the image of a service has. */
export function workspacesOf(dockerfile: string, service: string): string[] {
  const stage = dockerfile
    .split(/^FROM /m)
    .find((text) => text.startsWith(`manifests AS ${service}-packages`));
  const workspaces = [...(stage ?? '').matchAll(/--workspace (\S+)/g)].map(([, workspace = '']) => workspace);
  if (workspaces.length === 0) throw new Error(`deploy/Dockerfile installs no packages of ${service}.`);
  return workspaces;
}

export function billOf(lockfile: Lockfile, service: string, workspaces: readonly string[]) {
  const components = [...packagesOf(lockfile, ...workspaces)].sort().map((path) => {
    const { name: alias, version, integrity = '' } = lockfile.packages[path] as Lockfile['packages'][string];
    const name = alias ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
    return {
      type: 'library',
      'bom-ref': path,
      name,
      version,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      hashes: [{ alg: 'SHA-512', content }],
    };
  });
  const { version } = lockfile.packages[`services/${service}`] as { version: string };
  const component = { type: 'application', name: `data-hub-${service}`, version };
  return { bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, metadata: { component }, components };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = resolve(process.argv[2] ?? join(root, 'reports/sbom'));
  const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lockfile;
  mkdirSync(folder, { recursive: true });
  const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
  for (const service of ['gateway', 'catalog', 'executor', 'ml', 'hub']) {
    const bill = billOf(lockfile, service, workspacesOf(dockerfile, service));
    const path = join(folder, `${service}.cdx.json`);
    writeFileSync(path, `${JSON.stringify(bill, null, 2)}\n`);
    process.stdout.write(`${path}: ${bill.components.length} components\n`);
  }
}
