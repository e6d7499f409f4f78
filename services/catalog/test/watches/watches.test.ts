import { openCatalogStore } from '../../src/store.ts';
import { describeComparing, describeTelling } from './telling-cases.ts';
import { describeWatches } from './watch-cases.ts';

describeWatches('SQLite', () => openCatalogStore('sqlite::memory:'));
describeTelling('SQLite', () => openCatalogStore('sqlite::memory:'));
describeComparing('SQLite', () => openCatalogStore('sqlite::memory:'));
