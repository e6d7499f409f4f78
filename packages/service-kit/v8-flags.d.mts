export declare const v8Flags: string[];
