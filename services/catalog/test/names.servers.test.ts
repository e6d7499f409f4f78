import { describeMongodb, newDatabaseUrl } from '../../../tests/support/mongodb.ts';
import { openCatalogStore } from '../src/store.ts';
import { describeNames } from './names-cases.ts';

describeMongodb(240_000, () => describeNames('MongoDB', () => openCatalogStore(newDatabaseUrl())));
