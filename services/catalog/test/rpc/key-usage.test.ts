import { openCatalogStore } from '../../src/store.ts';
import { describeKeyUsage } from './key-usage-cases.ts';

describeKeyUsage('SQLite', () => openCatalogStore('sqlite::memory:'));
