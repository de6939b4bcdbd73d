/** False if `disabled` or `enabled` switches the server off. */
export const isEnabled = (entry: { readonly disabled?: unknown; readonly enabled?: unknown }) =>
  entry.disabled !== true && entry.enabled !== false;
