/** A value and where it starts, in characters from the start of the text. */
export type Located = { readonly offset: number } & (
  | { readonly kind: 'map'; readonly entries: readonly Entry[] }
  | { readonly kind: 'list'; readonly items: readonly Located[] }
  | { readonly kind: 'scalar'; readonly value: unknown }
);
export type Entry = { readonly key: string; readonly offset: number; readonly value: Located };

export type Fault = { readonly offset: number; readonly text: string };
/** What a reader of either format makes of a text. */
export type Read = { readonly root: Located | undefined; readonly fault: Fault | undefined };
