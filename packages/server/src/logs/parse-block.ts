/** One block of a log, read: what a worker hands to those who decide. */
import { type BadLine, type LineCounts, type ReaderOptions, RequestReader } from './request-reader.ts';
import type { Rows } from './rows.ts';

/** Rows of one block, and what was met on the way. */
export interface ParsedBlock {
  readonly rows: Rows;
  readonly counts: LineCounts;
  /** Their lines are counted from the beginning of the block. */
  readonly badLines: readonly BadLine[];
  /** Whether any time so far had a fraction of a second. */
  readonly hasFractions: boolean;
}

/** Reads the blocks of one log, one after the other. The rows are good until the next block is read. */
export class BlockReader {
  readonly reader: RequestReader;

  constructor(options: ReaderOptions) {
    this.reader = new RequestReader(options);
  }

  read(bytes: Uint8Array): ParsedBlock {
    const { reader } = this;
    reader.rows.clear();
    reader.counts.lines = 0;
    reader.counts.skipped = 0;
    reader.counts.bad = 0;
    reader.badLines.length = 0;
    reader.read(bytes);
    return {
      rows: reader.rows,
      counts: { ...reader.counts },
      badLines: [...reader.badLines],
      hasFractions: reader.times.hasFractions,
    };
  }
}
