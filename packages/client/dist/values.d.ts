/** Values of variables on their way to the hub. */
/** What JSON can hold. */
export type Json = string | number | boolean | null | Json[] | {
    [name: string]: Json;
};
/** A value of a variable. A `bigint` keeps all digits. */
export type Value = Json | bigint | readonly Value[] | {
    readonly [name: string]: Value;
};
/** Values of variables whose names and types are not known. */
export type Values = {
    readonly [name: string]: Value | undefined;
};
/** The members that are not undefined. */
export declare const given: <T>(members: Readonly<Record<string, T | undefined>>) => [string, T][];
/** JSON text, in which a `bigint` is a number. What `JSON.stringify` would turn into null, such as NaN, is refused. */
export declare function toJson(value: unknown, name?: string): string;
/** The query string of a read. Members that are undefined are left out. */
export declare function toForm(values: Values): string;
