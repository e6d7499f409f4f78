/** The pipeline of an edge without one of its own. This module loads nothing of Express Gateway. */

import { fileURLToPath } from 'node:url';

export const defaultPipelinePath = fileURLToPath(new URL('../gateway.config.yml', import.meta.url));
