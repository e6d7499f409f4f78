import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import { openCatalogStore } from '../../src/store.ts';
import { describeKeyUsage } from './key-usage-cases.ts';

describeMongodb(240_000, () => describeKeyUsage('MongoDB', () => openCatalogStore(newDatabaseUrl())));
