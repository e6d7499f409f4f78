/** Names for queries in programs, made from their paths or labels. They are identifiers in JavaScript, TypeScript and Python. */

/** The reserved words of these languages, and names that generated modules use. */
const reserved = new Set(
  [
    'and arguments as assert async await bool break case catch class const continue debugger def default del delete do',
    'elif else enum eval except export extends false finally float for from function global if implements import in',
    'instanceof int interface is lambda let list match new nonlocal not null or package pass print private protected',
    'public raise return self static str super switch this throw true try type typeof undefined var void while with',
    'yield execute executeQuery',
  ]
    .join(' ')
    .split(' '),
);

/**
 * Returns one name for each query, in order: from its path, else from its label. A name that was used before gets a
 * number. Names from paths come first, so that no label changes them.
 */
export function toNames(queries: readonly { label: string; path?: string | undefined }[]): string[] {
  const used = new Set<string>();
  const toUnique = (text: string): string => {
    const name = toName(text);
    let unique = name;
    for (let count = 2; used.has(unique); count++) unique = `${name}${count}`;
    used.add(unique);
    return unique;
  };
  const paths = queries.map(({ path }) => path).filter((path) => path !== undefined);
  const byPath = new Map(paths.toSorted().map((path) => [path, toUnique(path)]));
  return queries.map(({ path, label }) => byPath.get(path ?? '') ?? toUnique(label));
}

const wordsMax = 12;
/** Unicode has had joiners and the middle dot of Japanese in identifiers since version 15.1. Python refuses them. */
const partsOfNames = /[\p{ID_Continue}--[\u200c\u200d\u30fb]]+/gv;

function toName(label: string): string {
  const words = label.normalize('NFKC').match(partsOfNames) ?? [];
  const camel = words
    .slice(0, wordsMax)
    .map((word) => (word === word.toUpperCase() ? word.toLowerCase() : word))
    .map((word, i) => (i === 0 ? firstTo('toLowerCase', word) : firstTo('toUpperCase', word)))
    .join('');
  if (reserved.has(camel)) return `${camel}Query`;
  return /^\p{ID_Start}/u.test(camel) ? camel : `query${camel}`;
}

function firstTo(change: 'toLowerCase' | 'toUpperCase', word: string): string {
  const [first = '', ...rest] = word;
  return first[change]() + rest.join('');
}
