/**
 * A known secret as it stands in other texts: by itself, line by line, in JSON, percent-encoded and in base64, also
 * within a longer text that was encoded, such as `user:password`.
 */
export function formsOf(value: string): readonly string[] {
  const lines = value.includes('\n') ? value.split(/\r?\n/).map(line => line.trim()) : [];
  // After "Bearer" or "Basic" the credential itself begins.
  const words = /^\S+ \S+$/.test(value) ? value.split(' ') : [];
  const parts = [value, value.trim(), ...words, ...lines].flatMap(form => [
    form,
    JSON.stringify(form).slice(1, -1),
    ...percentEncoded(form),
  ]);
  return [...parts, ...base64Of(value), ...(value === value.trim() ? [] : base64Of(value.trim()))];
}

/** By encodeURIComponent, and as forms and stricter encoders write it. */
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
 * The characters of base64 that the text alone decides, for each of the three places at which it may begin in a
 * group of three bytes; in the alphabets of RFC 4648 and percent-encoded.
 */
function base64Of(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const cores = [0, 1, 2].map(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    // Of the first and the last character some bits belong to what stands around.
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.length) * 8) / 6);
    return encoded.slice(first, last);
  });
  const whole = bytes.toString('base64');
  return [whole, ...cores].flatMap(core => {
    const standard = core.replaceAll('-', '+').replaceAll('_', '/');
    const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
    return [standard, urlSafe, encodeURIComponent(standard)];
  });
}
