/** The console: a client of the public API, with the key that the person gives it. */

import { render } from 'preact';
import { signInByLink } from '../state/sign-in-link.ts';
import { App } from './app.tsx';

await signInByLink();

render(<App />, document.getElementById('app') as HTMLElement);
