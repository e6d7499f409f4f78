export const compileCache: string;
