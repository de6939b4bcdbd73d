/**
 * The forms in which a known secret may appear in other texts: plain, line by line, JSON-escaped,
 * percent-encoded and in base64, including base64 of a longer text such as `user:password`.
 */
export function encodingsOf(value: string): readonly string[] {
  const lines = value.includes('\n') ? value.split(/\r?\n/).map(line => line.trim()) : [];
  // The credential itself follows a scheme such as "Bearer" or "Basic".
  const words = /^\S+ \S+$/.test(value) ? value.split(' ') : [];
  const parts = [value, value.trim(), ...words, ...lines].flatMap(form => [
    form,
    JSON.stringify(form).slice(1, -1),
    ...percentEncoded(form),
  ]);
  return [...parts, ...base64Of(value), ...(value === value.trim() ? [] : base64Of(value.trim()))];
}

/** Percent-encoded by encodeURIComponent, by stricter encoders, and as form data. */
function percentEncoded(text: string): readonly string[] {
  if (!text.isWellFormed()) return [];
  const plain = encodeURIComponent(text);
  const strict = plain.replaceAll(
    /[!'()*~]/g,
    mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return [plain, strict, new URLSearchParams({ '': text }).toString().slice(1)];
}

/**
 * The base64 characters that depend on this text alone, for each of its three possible offsets within a group
 * of three bytes; in both alphabets of RFC 4648 and percent-encoded.
 */
function base64Of(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const fragments = [0, 1, 2].map(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    // Some bits of the first and last character belong to the surrounding bytes.
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.length) * 8) / 6);
    return encoded.slice(first, last);
  });
  const whole = bytes.toString('base64');
  return [whole, ...fragments].flatMap(fragment => {
    const standard = fragment.replaceAll('-', '+').replaceAll('_', '/');
    const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
    return [standard, urlSafe, encodeURIComponent(standard)];
  });
}
