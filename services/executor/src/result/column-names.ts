/** The names of an answer's members: those of the columns, with duplicates numbered as `id_2`, `id_3`. */

/** The first column of a name keeps it. Numbered names avoid the names of other columns. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  if (taken.size === names.length) return [...names];
  const numbers = new Map<string, number>();
  return names.map((name) => {
    const last = numbers.get(name);
    let number = (last ?? 0) + 1;
    // Goes on from the last number, because a result can have tens of thousands of columns of one name.
    while (last !== undefined && taken.has(`${name}_${number}`)) number++;
    numbers.set(name, number);
    if (last === undefined) return name;
    const free = `${name}_${number}`;
    taken.add(free);
    return free;
  });
}
