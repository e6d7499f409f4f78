/**
 * The database engines a source can have. Every other list of engines is derived from this one: a table that is keyed by
 * engine is a `Record<EngineName, …>`, so the compiler names the tables that miss a new engine.
 */
export const engines = ['postgres', 'mysql', 'mariadb', 'mongodb'] as const;

export type EngineName = (typeof engines)[number];

/** Engines whose stored text is SQL. */
export type SqlEngineName = Exclude<EngineName, 'mongodb'>;

export const isEngine = (name: string): name is EngineName => (engines as readonly string[]).includes(name);
