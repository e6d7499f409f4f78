import { openCatalogStore } from '../src/store.ts';
import { describeQueryVersions } from './query-version-cases.ts';

describeQueryVersions('SQLite', () => openCatalogStore('sqlite::memory:'));
