/** What this machine itself knows of names: its hosts file, and the domains that it searches for short names. */

import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

export interface LocalNames {
  /** The addresses in the hosts file; empty when the host is not in it. */
  addressesOf(host: string): readonly string[];
  /** The full names that a host may stand for, in the order in which name servers are to be asked for them. */
  fullNamesOf(host: string): string[];
}

export interface NameFiles {
  hosts: string;
  /** Absent on Windows, which is asked itself for what it searches. */
  resolvConf: string;
}

const systemFiles: NameFiles = {
  hosts: process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts',
  resolvConf: '/etc/resolv.conf',
};

/** Follows changes of the files, as the system does. A file that cannot be read counts as empty. */
export function createLocalNames(files: NameFiles = systemFiles): LocalNames {
  const hosts = followed(files.hosts, parseHosts);
  const search = followed(files.resolvConf, parseSearch);
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

const bareName = (name: string) => name.replace(/\.$/, '').toLowerCase();
const dotsOf = (name: string) => name.split('.').length - 1;

function parseHosts(text: string): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = withoutComment(line).split(/\s+/);
    // An address with a zone reaches nothing that a source may be at.
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
  /** A name with fewer dots is looked for in the domains first. */
  dotsMin: number;
}

const dotsMinMax = 15;

/** See resolv.conf(5); the last `search` or `domain` counts, else the domain of this machine's own name. */
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

/** What a file says, read again when it has changed. Such files are small and local: a thread would take longer. */
function followed<T>(path: string, parse: (text: string) => T): () => T {
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

/** Empty where the file cannot be read. */
function versionOf(path: string): string {
  try {
    accessSync(path, constants.R_OK);
    const { ino, size, mtimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return '';
  }
}
