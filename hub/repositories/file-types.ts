export type TrackedFile = {
  readonly path: string;
  readonly mode: 'file' | 'executable' | 'link';
  readonly bytes: number;
  /** Id of the blob. */
  readonly hash: string;
};

export type ReadLimits = {
  /** Maximum size of a file, in bytes. A larger one is `omitted`. Default: 1 MiB. */
  readonly fileBytes?: number;
  /** Maximum size of all files together, in bytes. Default: 16 MiB. */
  readonly maxBytes?: number;
};

export type ReadFile =
  | { readonly path: string; readonly kind: 'text'; readonly text: string; readonly bytes: number }
  /** It has a NUL byte, or is not UTF-8. */
  | { readonly path: string; readonly kind: 'binary'; readonly bytes: number }
  | UnreadFile;

/** A file before it is decoded. */
export type FileBytes =
  | {
      readonly path: string;
      readonly kind: 'bytes';
      readonly content: Uint8Array;
      readonly bytes: number;
    }
  | UnreadFile;

type UnreadFile =
  /** It exceeds a limit, or is a link or a submodule: then `bytes` is 0. */
  | { readonly path: string; readonly kind: 'omitted'; readonly bytes: number }
  | { readonly path: string; readonly kind: 'missing' };
