export const compileCache: string | undefined;
