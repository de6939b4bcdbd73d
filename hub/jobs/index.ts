export type { Job, JobError, JobLine, JobState } from './job.ts';
export {
  type JobRequest,
  type Jobs,
  type JobsNeeds,
  type OpenJob,
  type Resume,
  createJobs,
  maxJobs,
} from './jobs.ts';
