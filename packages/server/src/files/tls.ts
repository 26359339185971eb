/** What both ports show, and whom they let in, where they speak TLS. */
export interface TlsFiles {
  /** In PEM, as the others. */
  readonly cert: string;
  readonly key: string;
  /** Whoever has no certificate of this authority is not let in. Default: everyone is. */
  readonly clientCa?: string | undefined;
}

/** Where they are. */
export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
}
