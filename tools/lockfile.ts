/** Queries on package-lock.json. */

export interface Entry {
  /** The package's own name, if the folder is an alias. */
  name?: string;
  version: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  /** True for what only development needs. */
  dev?: boolean;
  devDependencies?: Record<string, string>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export interface Lockfile {
  packages: Record<string, Entry>;
}

/** The lowest safe versions of a package, each for the versions below `below`, or for all. */
export type Floors = Record<string, { least: string; below?: string; why: string }[]>;

const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Third-party packages, by their names in the registry. */
export function installed({ packages }: Lockfile): (Entry & { name: string })[] {
  return Object.entries(packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .map(([path, entry]) => ({ ...entry, name: entry.name ?? nameOf(path) }));
}

export function belowFloor(lockfile: Lockfile, floors: Floors): string[] {
  return installed(lockfile)
    .flatMap(({ name, version }) => {
      const floor = floors[name]?.find(({ below }) => below === undefined || isLess(version, below));
      return floor && isLess(version, floor.least) ? [`${name} ${version} < ${floor.least}`] : [];
    })
    .sort();
}

function isLess(one: string, other: string): boolean {
  const [a, b] = [one, other].map((version) => version.split(/[.-]/).map(Number)) as [number[], number[]];
  const at = a.findIndex((part, i) => part !== b[i]);
  return at !== -1 && (a[at] as number) < (b[at] as number);
}

/** True if `packages/left-out` stands in for the package. */
export function leftOut({ packages }: Lockfile, name: string): boolean {
  return Object.entries(packages).some(
    ([path, { resolved }]) =>
      path.includes('node_modules/') && nameOf(path) === name && resolved === 'packages/left-out',
  );
}

/**
 * Paths of the third-party packages that npm installs for the run of workspaces, at any depth, resolved as Node does. It
 * also installs a peer, even an optional one, if the lockfile has it, and a development dependency that another workspace
 * needs at run time.
 */
export function packagesOf({ packages }: Lockfile, ...workspaces: string[]): Set<string> {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    const entry = packages[path];
    if (entry === undefined || seen.has(path)) return;
    seen.add(path);
    const { dependencies, peerDependencies, devDependencies } = entry;
    for (const name of Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies })) {
      const found = find(path, name);
      if (found !== undefined && packages[found]?.dev !== true)
        visit(packages[found]?.link ? (packages[found].resolved as string) : found);
    }
  };
  const find = (from: string, name: string): string | undefined => {
    for (let dir = from; ; dir = dir.includes('/') ? dir.slice(0, dir.lastIndexOf('/')) : '') {
      const path = `${dir === '' ? '' : `${dir}/`}node_modules/${name}`;
      if (packages[path] !== undefined) return path;
      if (dir === '') return undefined;
    }
  };
  for (const workspace of workspaces) visit(workspace);
  return new Set([...seen].filter((path) => path.includes('node_modules/')));
}
