export type TrackedFile = {
  readonly path: string;
  readonly mode: 'file' | 'executable' | 'link';
  readonly bytes: number;
  /** Git's id of the blob. */
  readonly hash: string;
};

export type ReadLimits = {
  /** Maximum size of a file, in bytes. Larger files are `omitted`. Default: 1 MiB. */
  readonly fileBytes?: number;
  /** Maximum size of all files together, in bytes. Default: 16 MiB. */
  readonly maxBytes?: number;
};

export type ReadFile =
  | { readonly path: string; readonly kind: 'text'; readonly text: string; readonly bytes: number }
  /** The file has a NUL byte, or is not UTF-8. */
  | { readonly path: string; readonly kind: 'binary'; readonly bytes: number }
  | UnreadFile;

/** Content of a file before it is decoded. */
export type FileBytes =
  | {
      readonly path: string;
      readonly kind: 'bytes';
      readonly content: Uint8Array;
      readonly bytes: number;
    }
  | UnreadFile;

type UnreadFile =
  /** The file exceeds a limit, or is a link, a folder or a submodule, for which `bytes` is 0. */
  | { readonly path: string; readonly kind: 'omitted'; readonly bytes: number }
  | { readonly path: string; readonly kind: 'missing' };
