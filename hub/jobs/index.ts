export type { Job, JobState } from './job.ts';
export {
  type JobRequest,
  type Jobs,
  type JobsNeeds,
  type OpenJob,
  createJobs,
  maxJobs,
} from './jobs.ts';
