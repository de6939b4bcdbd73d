export { type BackoffOptions, backoffMs } from './backoff.ts';
export { type IntensityOptions, createIntensity } from './intensity.ts';
