import { openCatalogStore } from '../../src/store.ts';
import { describeUseCounts } from './use-counts-cases.ts';

describeUseCounts('SQLite', () => openCatalogStore('sqlite::memory:'));
