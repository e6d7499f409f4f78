import { openCatalogStore } from '../../src/store.ts';
import { describeWatches } from './watch-cases.ts';

describeWatches('SQLite', () => openCatalogStore('sqlite::memory:'));
