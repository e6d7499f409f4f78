/** The pages of the authorization server. They have no scripts, and nobody can frame them. */

import type { FastifyReply } from 'fastify';
import { escaped, pageHeaders, plainPage } from '../response/plain-page.ts';
import { type AuthorizationRequest, parameterNames } from './authorization-request.ts';
import type { OAuthClient } from './clients.ts';
import type { Offer, OfferedHub } from './offer.ts';

const style = `button{font:inherit;padding:.4rem .8rem;margin:.5rem .5rem 0 0}fieldset{margin:1rem 0}
label{display:block;margin:.3rem 0}label small,p small{display:block;opacity:.75;margin-left:1.7rem}
input[type=password]{font:inherit;width:100%;box-sizing:border-box}`;
/** The names of tools that the page shows of one hub. */
const namesMax = 20;

/** `to`: where the answer of a form leads, besides the hub itself. */
export function sendPage(
  reply: FastifyReply,
  { status = 200, to, ...page }: { status?: number; to?: string; heading: string; content: string },
): FastifyReply {
  const headers = pageHeaders(to === undefined ? "'self'" : `'self' ${sourceOf(to)}`);
  return (
    reply
      .code(status)
      // Browsers send `Origin` with a form only if the page may send a referrer to its own origin.
      .headers({ ...headers, 'referrer-policy': 'same-origin' })
      .send(plainPage({ title: 'Connect to the Data Hub', style, ...page }))
  );
}

/** Of a redirect address, for a content security policy, which cannot name an IPv6 address. */
function sourceOf(uri: string): string {
  const { origin, protocol } = new URL(uri);
  return origin.includes('[') ? protocol : origin;
}

export const errorContent = (detail: string, back?: { address: string; host: string }): string =>
  `<p>${escaped(detail)}</p>${
    back === undefined
      ? ''
      : `<p><a rel="noreferrer" href="${escaped(back.address)}">Back to ${escaped(back.host)}</a></p>`
  }`;

const hiddenFields = (request: AuthorizationRequest): string =>
  parameterNames
    .filter((name) => request[name] !== undefined)
    .map((name) => `<input type="hidden" name="${name}" value="${escaped(request[name] ?? '')}">`)
    .join('');

/** `login`: where people sign in, and the host of their provider. */
export function signInContent(
  request: AuthorizationRequest,
  { login, refusal }: { login: { address: string; provider: string } | undefined; refusal?: string },
): string {
  const provider =
    login === undefined
      ? ''
      : `<p><a href="${escaped(login.address)}">Sign in with ${escaped(login.provider)}</a></p><p>Or with a key:</p>`;
  return `<p>A program wants to use this hub for you. Sign in to see which one, and what it may do.</p>
${refusal === undefined ? '' : `<p role="alert">${escaped(refusal)}</p>`}${provider}
<form method="post" action="/oauth/authorize">${hiddenFields(request)}
<label>Key <input type="password" name="key" required autocomplete="off"></label><button>Sign in</button></form>`;
}

export interface Consent {
  client: OAuthClient;
  /** Where it describes itself, or where its answers go. */
  host: string;
  /** Whether the hub knows the client only by what it says of itself. */
  isUnverified: boolean;
  /** Who consents. */
  who: string;
  request: AuthorizationRequest;
  token: string;
  /** The key that signed in, if no session did. */
  key: string | undefined;
}

export const consentHeading = ({ host }: Consent): string => `Let ${escaped(host)} use this hub?`;

function formOf({ request, token, key }: Consent, fields: string): string {
  return `<form method="post" action="/oauth/authorize">${hiddenFields(request)}
<input type="hidden" name="token" value="${token}">
${key === undefined ? '' : `<input type="hidden" name="key" value="${escaped(key)}">`}${fields}
<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></form>`;
}

const introduction = ({ client, isUnverified, who, request }: Consent): string =>
  `<p>It calls itself “${escaped(client.name)}”. Its answer goes to ${escaped(request.redirect_uri ?? '')}. It will act for ${escaped(who)}.</p>
${isUnverified ? '<p><strong>The hub cannot know whether this is so. Allow it only if you have just begun this in a program that you trust.</strong></p>' : ''}`;

/** The command line gets what the person has, so there is nothing to choose. */
export const commandLineContent = (consent: Consent): string =>
  `${introduction(consent)}<p>The command line on this computer will be able to do all that you can do, until you sign out with <code>datahub logout</code>.</p>
${formOf(consent, '')}`;

export function consentContent(consent: Consent, offer: Offer): string {
  const { hubs, hubsLeftOut, areAllTools, scopes } = offer;
  const writing = hubs.filter((hub) => hub.writing.length > 0);
  const leftOut = [
    hubsLeftOut === 0 ? '' : `<p>${hubsLeftOut} more hubs cannot be chosen here. Use a key for them.</p>`,
    areAllTools ? '' : '<p>The hubs have more tools than are named here. It can use those, too.</p>',
  ].join('');
  const changing = !scopes.includes('queries:execute:write')
    ? ''
    : `<fieldset><legend>Tools that change data</legend>
<label><input type="checkbox" name="scope_granted" value="queries:execute:write"> Also let it change data with these tools
${writing.map((hub) => `<small>${escaped(hub.label)}: ${namesOf(hub.writing)}</small>`).join('')}</label></fieldset>`;
  const others = [
    ['classifiers:predict', 'Classify texts'],
    ['ai:summarize', 'Summarize texts'],
  ].filter(([scope = '']) => scopes.includes(scope));
  const further =
    others.length === 0
      ? ''
      : `<fieldset><legend>Other tools</legend>${others
          .map(([scope, label]) => checkbox('scope_granted', scope as string, { label: label as string }))
          .join('')}</fieldset>`;
  return `${introduction(consent)}${formOf(
    consent,
    `<fieldset><legend>Hubs, with the tools that read</legend>${hubs.map(hubBox).join('')}</fieldset>${leftOut}${further}${changing}`,
  )}`;
}

const hubBox = ({ hubId, label, reading }: OfferedHub): string =>
  checkbox('hub', hubId, { label, note: reading.length === 0 ? 'no tools yet' : namesOf(reading) });

/** `note` is HTML. */
const checkbox = (name: string, value: string, { label, note = '' }: { label: string; note?: string }) =>
  `<label><input type="checkbox" checked name="${name}" value="${escaped(value)}"> ${escaped(label)}${
    note === '' ? '' : `<small>${note}</small>`
  }</label>`;

function namesOf(names: readonly string[]): string {
  const shown = names.slice(0, namesMax).map(escaped).join(', ');
  return names.length > namesMax ? `${shown} and ${names.length - namesMax} more` : shown;
}
