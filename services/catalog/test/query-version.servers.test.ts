import { describeMongodb, newDatabaseUrl } from '../../../tests/support/mongodb.ts';
import { openCatalogStore } from '../src/store.ts';
import { describeQueryVersions } from './query-version-cases.ts';

describeMongodb(240_000, () => describeQueryVersions('MongoDB', () => openCatalogStore(newDatabaseUrl())));
