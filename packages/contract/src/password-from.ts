/** The providers of a source's password, instead of a stored password. */
export const passwordProviders = ['aws-rds-iam'] as const;

export interface PasswordFrom {
  kind: (typeof passwordProviders)[number];
  /** The AWS region of the database. */
  region: string;
}

/** Matches regions such as eu-central-1 or us-gov-west-1. */
export const awsRegionShape = '^[a-z]{2}(-[a-z]{2,12}){1,3}-[0-9]{1,2}$';
