/** What all tests in a browser have in common. */
export const SETTINGS = {
  environment: "node",
  // One file after the other: a browser and a server are enough for one machine.
  fileParallelism: false,
  testTimeout: 240_000,
  hookTimeout: 240_000,
  // What is waited for may take as long as a busy machine needs: the default is one second.
  expect: { poll: { timeout: 20_000 } },
  // A difference is shown whole.
  chaiConfig: { truncateThreshold: 0 },
} as const;
