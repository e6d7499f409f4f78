/** The hub's command for each command of MongoDB. */
export const commandVerbs: ReadonlyMap<string, string> = new Map([
  ['find', 'SELECT'],
  ['aggregate', 'SELECT'],
  ['count', 'SELECT'],
  ['distinct', 'SELECT'],
  ['insert', 'INSERT'],
  ['update', 'UPDATE'],
  ['delete', 'DELETE'],
]);
