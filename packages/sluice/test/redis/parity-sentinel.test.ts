import { paritySuite } from './support/parity-suite.ts';

paritySuite('sentinel');
