const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;

/** What a program that starts with an environment of its own takes over: where programs are, and their compiled code. */
export const inherited = { PATH, NODE_COMPILE_CACHE };
