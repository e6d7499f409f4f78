/** The header by which the console marks its own calls, which are no calls of a program. */
export const formHeader = 'x-datahub-form';
export const consoleForm = 'console';
