/** How the keyboard of this computer names its keys. */

const isMac = /mac|iphone|ipad/i.test(navigator.platform);
/** The key of shortcuts, as it stands before the other key. */
export const modifier = isMac ? '⌘' : 'Ctrl ';
