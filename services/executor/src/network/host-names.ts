/** Local name resolution: the machine's hosts file, and the domains in which it searches for short names. */

import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

export interface LocalNames {
  /** Returns the addresses of the host in the hosts file; empty if there are none. */
  addressesOf(host: string): readonly string[];
  /** Returns the full names that a short name may mean, in the order of the queries. */
  fullNamesOf(host: string): string[];
}

export interface NameFiles {
  hosts: string;
  /** Absent on Windows, where the system's own resolver searches the domains. */
  resolvConf: string;
}

const systemFiles: NameFiles = {
  hosts: process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts',
  resolvConf: '/etc/resolv.conf',
};

/** Rereads the files when they change, as the system does. A file that cannot be read counts as empty. */
export function createLocalNames(files: NameFiles = systemFiles): LocalNames {
  const hosts = watched(files.hosts, parseHosts);
  const search = watched(files.resolvConf, parseSearch);
  return {
    addressesOf: (host) => hosts().get(bareName(host)) ?? [],
    fullNamesOf: (host) => {
      if (host.endsWith('.')) return [host];
      const { domains, dotsMin } = search();
      const searched = domains.map((domain) => `${host}.${domain}`);
      return dotsOf(host) >= dotsMin ? [host, ...searched] : [...searched, host];
    },
  };
}

/** Returns the name in lower case, without a dot at its end. */
export const bareName = (name: string) => name.replace(/\.$/, '').toLowerCase();
const dotsOf = (name: string) => name.split('.').length - 1;

function parseHosts(text: string): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = withoutComment(line).split(/\s+/);
    // An address with a zone is link-local, where no source is allowed.
    if (isIP(address) === 0 || address.includes('%')) continue;
    for (const name of new Set(names.map(bareName))) {
      const known = byName.get(name);
      if (known === undefined) byName.set(name, [address]);
      else if (!known.includes(address)) known.push(address);
    }
  }
  return byName;
}

interface Search {
  domains: string[];
  /** Names with fewer dots are searched in the domains first. */
  dotsMin: number;
}

const dotsMinMax = 15;

/** See resolv.conf(5). The last `search` or `domain` applies, or else the domain of this machine's own name. */
function parseSearch(text: string): Search {
  const search: Search = { domains: hostname().split('.').slice(1), dotsMin: 1 };
  search.domains = search.domains.length > 0 ? [search.domains.join('.')] : [];
  for (const line of text.split('\n')) {
    const [keyword, ...words] = withoutComment(line).split(/\s+/);
    if (keyword === 'search') search.domains = words;
    else if (keyword === 'domain') search.domains = words.slice(0, 1);
    else if (keyword === 'options') {
      const dots = words
        .map((word) => /^ndots:(\d+)$/.exec(word)?.[1])
        .findLast((found) => found !== undefined);
      if (dots !== undefined) search.dotsMin = Math.min(Number(dots), dotsMinMax);
    }
  }
  return { ...search, domains: search.domains.map(bareName).filter((domain) => domain !== '') };
}

const withoutComment = (line: string) => line.replace(/[#;].*$/, '').trim();

/**
 * Returns a function that parses a file, and parses it again when it has changed. It reads synchronously, because these
 * files are small and local.
 */
function watched<T>(path: string, parse: (text: string) => T): () => T {
  let version = '';
  let parsed = parse('');
  return () => {
    const current = versionOf(path);
    if (current !== version) {
      parsed = parse(current === '' ? '' : readFileSync(path, 'utf8'));
      version = current;
    }
    return parsed;
  };
}

/** Returns an empty text if the file cannot be read. */
function versionOf(path: string): string {
  try {
    accessSync(path, constants.R_OK);
    const { ino, size, mtimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return '';
  }
}
