import { openCatalogStore } from '../src/store.ts';
import { describeNames } from './names-cases.ts';

describeNames('SQLite', () => openCatalogStore('sqlite::memory:'));
