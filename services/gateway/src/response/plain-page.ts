/** Pages that the hub serves by itself, without scripts, apart from the console. */

import { unstoredHeaders } from '../http/problem-details.ts';

/** `formAction` is where the forms of the page may lead. */
export const pageHeaders = (formAction: "'none'" | `'self'${string}`) => ({
  ...unstoredHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action ${formAction}; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
});

export interface PlainPage {
  title: string;
  heading: string;
  /** HTML, as `style` is CSS. */
  content: string;
  style?: string;
}

export const plainPage = ({ title, heading, content, style = '' }: PlainPage): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>${title}</title>
<style>body{font:1rem/1.5 system-ui;max-width:32rem;margin:4rem auto;padding:0 1rem}${style}</style></head>
<body><h1>${heading}</h1>${content}</body></html>`;

/** A text as HTML, also within an attribute. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
