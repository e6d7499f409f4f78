/** Mappings between two forms of a thing: document, message, JSON, file. */

/**
 * `T` with every member named. A mapping that is declared to return it does not compile if it forgets a member. Optional
 * members may be undefined.
 */
export type Complete<T> = { [K in keyof Required<T>]: T[K] };

/** Leaves out the members that are undefined, which the optional ones of `T` may be. Stored documents have none. */
export function withoutUndefined<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
