/** Names of an answer's members: as the database gave them, and `id_2`, `id_3` for what comes again. */

/** A real column keeps its name; a repeated one takes the next free. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  if (taken.size === names.length) return [...names];
  const seen = new Set<string>();
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let number = 2;
    while (taken.has(`${name}_${number}`)) number++;
    const free = `${name}_${number}`;
    taken.add(free);
    return free;
  });
}
