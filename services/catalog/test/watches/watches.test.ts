import { openCatalogStore } from '../../src/store.ts';
import { describeTelling } from './telling-cases.ts';
import { describeWatches } from './watch-cases.ts';

describeWatches('SQLite', () => openCatalogStore('sqlite::memory:'));
describeTelling('SQLite', () => openCatalogStore('sqlite::memory:'));
