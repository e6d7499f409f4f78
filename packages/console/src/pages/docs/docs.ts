/**
 * The page of the API at `/docs`: Swagger UI with the hub's own documents. The key stays in its field and is never
 * stored.
 */

interface SwaggerRequest {
  url: string;
  headers: Record<string, string>;
}

declare const SwaggerUIBundle: (options: {
  spec: object;
  domNode: Element;
  validatorUrl: null;
  queryConfigEnabled: boolean;
  persistAuthorization: boolean;
  showMutatedRequest: boolean;
  tryItOutEnabled: boolean;
  requestInterceptor(request: SwaggerRequest): SwaggerRequest;
}) => unknown;

const find = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const key = find<HTMLInputElement>('key');
const choice = find<HTMLSelectElement>('document');
const state = find('state');

const hubsAtOnce = 20;
/** The most hubs in the list. */
const hubsMax = 1_000;

async function read<T>(path: string): Promise<{ body: T; total: number }> {
  const response = await fetch(new URL(path, document.baseURI), {
    headers: key.value === '' ? {} : { 'x-service-api-key': key.value },
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail);
  return { body, total: Number(response.headers.get('x-total-count')) };
}

/** Lists the hubs. If the key may not list hubs, the page still shows all routes. */
async function offerHubs(): Promise<void> {
  const chosen = choice.value;
  choice.length = 1;
  if (key.value === '') return;
  for (let offset = 0; offset < hubsMax; offset += hubsAtOnce) {
    const path = `v1/hubs?offset=${offset}&limit=${hubsAtOnce}`;
    const { body, total } = await read<{ hubId: string; label: string }[]>(path);
    for (const { hubId, label } of body) choice.add(new Option(`Queries of ${label}`, hubId));
    if (offset + hubsAtOnce >= total) break;
  }
  choice.value = chosen;
  if (choice.selectedIndex === -1) choice.selectedIndex = 0;
}

async function show(): Promise<void> {
  const hubId = choice.value;
  const path = hubId === '' ? 'openapi.json' : `v1/hubs/${encodeURIComponent(hubId)}/openapi.json`;
  const { body } = await read<object>(path);
  // The document names the public origin, but the page may call only the hub that it comes from.
  const spec = { ...body, servers: [{ url: new URL('.', document.baseURI).href.replace(/\/$/, '') }] };
  const domNode = document.createElement('div');
  SwaggerUIBundle({
    spec,
    domNode,
    validatorUrl: null,
    queryConfigEnabled: false,
    persistAuthorization: false,
    // The curl command on the page has no key.
    showMutatedRequest: false,
    tryItOutEnabled: true,
    requestInterceptor: (request) => {
      if (new URL(request.url, document.baseURI).origin === location.origin && key.value !== '')
        request.headers['x-service-api-key'] = key.value;
      return request;
    },
  });
  find('page').replaceChildren(domNode);
}

async function load(): Promise<void> {
  state.textContent = 'Loading …';
  try {
    await offerHubs().catch((err: Error) => {
      state.textContent = err.message;
    });
    await show();
    if (state.textContent === 'Loading …') state.textContent = '';
  } catch (err) {
    state.textContent = (err as Error).message;
  }
}

find('access').addEventListener('submit', (event) => {
  event.preventDefault();
  void load();
});
choice.addEventListener('change', () => void load());
// Disabled until now, because the browser would submit the form itself.
find<HTMLButtonElement>('load').disabled = false;
void load();
