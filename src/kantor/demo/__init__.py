"""`kantor demo`: a whole market on one machine, with real processes, from enrolment to settlement and verification."""
