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
/** JSON text. Where the runtime cannot write a large `bigint` as a number, it is a string, which `bigint` variables accept. */
export declare const toJson: (value: unknown) => string;
/** The query string of a read. Members that are undefined are left out. */
export declare function toForm(values: object): string;
