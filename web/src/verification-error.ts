/** A failed check: a message for the reader, and the reason code that Python's verification and the test vectors use. */
export class VerificationError extends Error {
  constructor(
    message: string,
    readonly reason: string,
  ) {
    super(message);
  }
}
